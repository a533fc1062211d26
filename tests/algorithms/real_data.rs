//! Every driver of `algorithms/reference`, on the digits and the breast cancer data: in all modes equal models, which
//! are those of other libraries. What is compared and how close is stated per case.

use crate::execution::{MODES, run_driver};
use crate::reference::Reference;
use crate::results::{Results, assert_near};

/// Runs a driver in every mode. The modes must agree within `between_modes`, and each with what `compare` expects.
#[track_caller]
fn check(driver: &str, between_modes: f64, compare: impl Fn(&Results, &Reference, &str)) {
    let reference = Reference::of(driver);
    let mut base: Option<Results> = None;
    for &mode in MODES {
        let results = run_driver(mode, driver);
        let what = format!("{driver} {mode:?}");
        compare(&results, &reference, &what);
        match &base {
            Some(base) => results.assert_close(base, between_modes, &what),
            None => base = Some(results),
        }
    }
}

impl Results {
    /// A matrix is the reference's, relative to its largest cell.
    #[track_caller]
    fn assert_matrix(&self, name: &str, reference: &Reference, path: &str, tolerance: f64, what: &str) {
        let expected = reference.numbers(path);
        assert_near(&self.matrix(name).concat(), &expected, tolerance, &format!("{what}: {name}"));
    }

    /// A number is the reference's, relative to itself.
    #[track_caller]
    fn assert_scalar(&self, name: &str, reference: &Reference, path: &str, tolerance: f64, what: &str) {
        assert_near(&[self.scalar(name)], &[reference.scalar(path)], tolerance, &format!("{what}: {name}"));
    }

    /// A number that depends on where a search starts is at most this share beyond those of other searches.
    #[track_caller]
    fn assert_among(&self, name: &str, others: &[f64], share: f64, what: &str) {
        let least = others.iter().copied().fold(f64::INFINITY, f64::min);
        let most = others.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let (value, margin) = (self.scalar(name), share * most.abs().max(least.abs()));
        assert!((least - margin..=most + margin).contains(&value), "{what}: {name} = {value}, others {others:?}");
    }
}

/// The weights where the objective has settled are half as precise as it.
#[test]
fn l2svm() {
    check("l2svm", 1e-5, |results, reference, what| {
        results.assert_matrix("model", reference, "/model", 1e-5, what);
        results.assert_scalar("objective", reference, "/objective", 1e-10, what);
        results.assert_scalar("accuracy", reference, "/accuracy", 1e-11, what);
    });
}

#[test]
fn msvm() {
    check("msvm", 2e-5, |results, reference, what| {
        results.assert_matrix("model", reference, "/model", 2e-5, what);
        results.assert_scalar("accuracy", reference, "/accuracy", 1e-11, what);
    });
}

#[test]
fn multi_log_reg_of_two_classes() {
    check("multiLogReg_2", 1e-9, |results, reference, what| {
        results.assert_matrix("betas", reference, "/betas", 1e-7, what);
        results.assert_scalar("accuracy", reference, "/accuracy", 1e-11, what);
    });
}

/// Rounding decides whether the last search takes one step more, which moves the weights by a hundred-millionth.
#[test]
fn multi_log_reg_of_ten_classes() {
    check("multiLogReg_10", 2e-8, |results, reference, what| {
        results.assert_matrix("betas", reference, "/betas", 1e-7, what);
        results.assert_scalar("objective", reference, "/objective", 1e-10, what);
        results.assert_scalar("accuracy", reference, "/accuracy", 1e-11, what);
    });
}

/// The cases of the driver, in its order.
const FAMILIES: &[&str] = &[
    "gaussian_identity",
    "gaussian_log",
    "gaussian_inverse",
    "poisson_log",
    "poisson_sqrt",
    "poisson_identity",
    "gamma_inverse",
    "gamma_log",
    "gamma_identity",
    "inverse_gaussian_inverse_squared",
    "inverse_gaussian_inverse",
    "inverse_gaussian_log",
    "inverse_gaussian_identity",
    "binomial_logit",
    "binomial_probit",
    "binomial_cloglog",
    "binomial_cauchit",
];

#[test]
fn glm() {
    check("glm", 1e-7, |results, reference, what| {
        for (number, family) in FAMILIES.iter().enumerate() {
            let betas = reference.numbers(&format!("/{family}/betas"));
            let pearson = reference.scalar(&format!("/{family}/pearson"));
            assert_near(&results.matrix("betas")[number], &betas, 1e-6, &format!("{what} {family} betas"));
            assert_near(&results.matrix("pearson")[number], &[pearson], 1e-6, &format!("{what} {family} Pearson"));
        }
    });
}

/// Sums of squared distances, of which runs from other centroids find slightly different ones.
#[test]
fn kmeans() {
    check("kmeans", 1e-9, |results, reference, what| {
        for (name, path) in [("digits_10", "/digits_10/cost"), ("breast_cancer_5", "/breast_cancer_5/cost")] {
            results.assert_among(name, &[reference.scalar(path)], 0.02, what);
        }
    });
}

/// Losses after 20 iterations, which depend on where they start.
#[test]
fn als_cg() {
    check("alsCG", 1e-9, |results, reference, what| {
        results.assert_among("L2", &reference.numbers("/L2"), 0.02, what);
        results.assert_among("wL2", &reference.numbers("/wL2"), 0.02, what);
    });
}

/// Objectives before the first and after each of five passes: gradient descent of many small steps, from equal weights
/// in equal order.
#[test]
fn autoencoder() {
    check("autoencoder_2layer", 1e-9, |results, reference, what| {
        for (epoch, objective) in reference.numbers("/objectives").iter().enumerate() {
            assert_near(&[results.scalar(&format!("epoch {epoch}"))], &[*objective], 1e-9, &format!("{what} {epoch}"));
        }
    });
}

#[test]
fn lm() {
    check("lm", 1e-8, |results, reference, what| {
        for name in ["without_intercept", "with_intercept", "scaled"] {
            let path = format!("/{name}");
            results.assert_matrix(name, reference, &path, 1e-8, what);
            results.assert_matrix(&format!("{name}_cg"), reference, &path, 1e-7, what);
        }
    });
}

#[test]
fn pca() {
    check("pca", 1e-9, |results, reference, what| {
        for name in ["centered", "scaled"] {
            results.assert_matrix(name, reference, &format!("/{name}/components"), 1e-9, what);
            let variances = format!("/{name}/variances");
            results.assert_matrix(&format!("{name}_variances"), reference, &variances, 1e-9, what);
        }
        assert_eq!(results.lines, ["transformed again: TRUE"], "{what}");
    });
}

/// Objectives after 200 iterations, which depend on where they start.
#[test]
fn pnmf() {
    check("pnmf", 1e-9, |results, reference, what| {
        results.assert_among("objective", &reference.numbers("/objectives"), 0.005, what);
    });
}

#[test]
fn page_rank() {
    check("pageRank", 1e-13, |results, reference, what| {
        results.assert_matrix("ranks", reference, "/ranks", 1e-10, what);
    });
}
