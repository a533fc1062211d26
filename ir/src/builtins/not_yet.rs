//! The names of DML's builtin functions that are not supported yet.

/// Whether DML has a builtin function of this name that is not supported yet.
pub fn is_not_yet(name: &str) -> bool {
    not_yet().any(|known| known == name)
}

/// The names of DML's builtin functions, compiled and scripted ones, that are not supported yet.
pub fn not_yet() -> impl Iterator<Item = &'static str> {
    NOT_YET.split_whitespace()
}

const NOT_YET: &str = "
    als alsDS apply_pipeline arima atan2 bivar cast.logical correctTypos cox cspline csplineCG csplineDS cvlm dbscan
    decisionTree discoverFD dmv frameSort garch getNames gmm gmmPredict gnmf gridSearch hospitalResidencyMatch
    hyperband img_brightness img_crop img_cutout img_invert img_mirror img_posterize img_rotate img_sample_pairing
    img_shear img_transform img_translate imputeByFD interQuantile intersect invcumulative km knn knnbf lasso
    lenetPredict lenetTrain lineage listFiles local lower_tri matrixProfile mda mice naiveBayes naiveBayesPredict
    outlier outlierByIQR outlierBySd ppca randomForest rmempty selectByVarThresh setdiff sherlock shortestPath
    slicefinder smote split splitBalanced stableMarriage statsNA steplm stratstats symmetricDifference tomekLink
    topk_cleaning transformcolmap transformmeta union univar upper_tri valueSwap vectorToCsv winsorize
    winsorizeApply xdummy1 xgboost xgboostPredictClassification xgboostPredictRegression
";
