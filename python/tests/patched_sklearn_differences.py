"""What scikit-learn's own tests meet in the estimators of Fuseline that they do not expect, and which of them take long."""

#: The version of scikit-learn whose tests are meant.
VERSION = "1.9"

#: Parameters, of estimators and of tests, that choose or tune an algorithm of scikit-learn.
ALGORITHMS = {
    "algo",
    "algorithm",
    "copy",
    "copy_X",
    "copy_x",
    "dual",
    "iterated_power",
    "max_iter",
    "n_jobs",
    "n_oversamples",
    "power_iteration_normalizer",
    "random_state",
    "solver",
    "svd_solver",
    "tol",
}

#: Values of parameters that Fuseline does not have for which its estimators do the same; elsewhere it is the default.
SAME = {"beta_loss": ["kullback-leibler", 1], "penalty": ["deprecated", "l2"]}

_SOLVER = "it tests by the name of an algorithm that Fuseline does not have what is refused, warned of or chosen"
_PRIVATE = "it reads a private attribute of scikit-learn's class"
_BITS = "all is computed and given with 64 bits"
_TEXT = "it expects the text of another message"
_CALLBACKS = "estimators of Fuseline have no callbacks"
_LOOSE = "it compares with another estimator of scikit-learn, which ends sooner at the same tolerance"
_DIRECT = "least squares are solved directly, not in iterations"
_MLE = "a value of a parameter that Fuseline does not have: n_components='mle'"

#: Patterns of the names of tests that fail, by module, with the reasons.
DIFFERENCES = {
    "sklearn.cluster.tests.test_k_means": {
        r"test_kmeans_relocated_clusters\[.*": "a center that moves leaves its sample to its old one, which takes an iteration",
        r"test_kmeans_init_auto_with_initial_centroids\[.*": _PRIVATE,
        r"test_n_init_auto\[.*": _PRIVATE,
        r"test_sample_weight_(init|zero)\[.*": _PRIVATE,
        r"test_kmeans_verbose\[.*": "progress is told on standard error, in other words",
        r"test_float_precision\[.*": _BITS,
        r"test_warning_elkan_1_cluster": _SOLVER,
    },
    "sklearn.decomposition.tests.test_nmf": {r"test_parameter_checking": _SOLVER},
    "sklearn.decomposition.tests.test_pca": {
        r"test_sparse_pca_solver_error\[.*": _SOLVER,
        r"test_pca_validation\[(arpack|randomized)-.*": _SOLVER,
        r"test_pca_validation\[auto-3-.*": _SOLVER,
        r"test_n_components_none\[.*arpack.*": _SOLVER,
        r"test_pca_svd_solver_auto\[.*": _PRIVATE,
        r"test_n_components_mle(_error)?\[.*": _MLE,
        r"test_(pca_dim|mle_redundant_data|fit_mle_too_few_samples|mle_simple_case)": _MLE,
        r"test_pca_score\[.*": "whitening changes nothing about the likelihood of data",
        r"test_pca_zero_noise_variance_edge_cases\[.*": "a singular covariance has no inverse, and is an error",
    },
    "sklearn.linear_model._glm.tests.test_glm": {
        r"test_linalg_warning_with_newton_solver\[.*": "conjugate gradients factorise nothing that could be singular",
    },
    "sklearn.linear_model.tests.test_base": {
        r"test_inplace_data_preprocessing\[.*-None\]": "data are never written to, even with copy_X=False",
    },
    "sklearn.linear_model.tests.test_logistic": {
        r"test_check_solver_option\[.*": _SOLVER,
        r"test_liblinear_(dual_random_state|multiclass_raises|with_large_values).*": _SOLVER,
        r"test_newton_cholesky_fallback_to_lbfgs": _SOLVER,
        r"test_max_iter\[.*": _TEXT,
        r"test_sparsify\[.*": "coefficients are dense: there is no sparsify",
        r"test_logistic_cv\[.*": _LOOSE,
        r"test_logistic_cv_multinomial_score\[neg_log_loss-.*": _LOOSE,
        r"test_logreg_predict_proba_multinomial\[.*": _PRIVATE,
        r"test_dtype_match\[.*": _BITS,
        r"test_zero_max_iter\[.*": "a fit takes an iteration at least",
        r"test_penalty_deprecated\[.*": "there is no parameter penalty that could be deprecated",
        r"test_logisticregression_warns_with_n_jobs": "there is no parameter n_jobs that could be deprecated",
        r"test_logistic_regression_callback_.*": _CALLBACKS,
    },
    "sklearn.linear_model.tests.test_ridge": {
        r"test_n_iter": _DIRECT,
        r"test_ridge_fit_intercept_sparse_(error|sag)\[.*": _SOLVER,
        r"test_dtype_match(_cholesky|\[.*)": _BITS,
    },
    "sklearn.svm.tests.test_svm": {
        r"test_linear_svm_convergence_warnings\[.*": "Newton's method is done within the iterations that are too few for others",
    },
}

#: Patterns of the names of tests, by module, that only the long run has.
LONG = {
    "sklearn.decomposition.tests.test_pca": [
        r"test_pca_sparse\[(?!.*csr_array-\d+-0\.1\]).*",
        r"test_pca_svd_solver_auto\[.*",
        r"test_sparse_pca_auto_arpack_singular_values_consistency\[.*",
    ],
    "sklearn.linear_model._glm.tests.test_glm": [r"test_glm_regression.*Tweedie.*"],
    "sklearn.linear_model.tests.test_logistic": [
        r"test_multinomial_cv_iris\[.*",
        r"test_logistic_regression_solvers_multiclass\[.*",
        r"test_multinomial_logistic_regression_string_inputs",
        r"test_logistic_cv_folds_with_classes_missing\[.*",
    ],
    "sklearn.linear_model.tests.test_ridge": [
        r"test_ridge_cv_results_predictions\[.*",
        r"test_ridge_gcv_sample_weights\[.*",
        r"test_regularization_limits_ridge_classifier_gcv\[.*",
    ],
}
