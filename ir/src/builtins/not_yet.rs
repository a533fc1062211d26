//! The names of SystemDS' builtin functions that are not supported yet.

/// Whether SystemDS has a builtin function of this name that is not supported yet.
pub fn is_not_yet(name: &str) -> bool {
    not_yet().any(|known| known == name)
}

/// Whether the function is a script in SystemDS, which a library folder may have.
pub fn is_script_not_yet(name: &str) -> bool {
    SCRIPTS.split_whitespace().any(|known| known == name)
}

/// The names of SystemDS' builtin functions, compiled and scripted ones, that are not supported yet.
pub fn not_yet() -> impl Iterator<Item = &'static str> {
    COMPILED.split_whitespace().chain(SCRIPTS.split_whitespace())
}

const COMPILED: &str = "
    applySchema autoDiff batch_norm2d batch_norm2d_backward einsum getCategoricalMask interQuantile lineage lstm
    lstm_backward paramserv quantize_compress rowClassMeet stft transformcolmap transformmeta valueSwap
";

const SCRIPTS: &str = "
    abstain adasyn als alsDS ampute apply_pipeline arima bandit bivar components cooccurrenceMatrix correctTypos
    correctTyposApply cox cspline csplineCG csplineDS cvlm dbscan dbscanApply decisionTree decisionTreePredict dedup
    deepWalk denialConstraints differenceStatistics discoverFD dmv ema executePipeline fdr ffPredict ffTrain
    fit_pipeline fixInvalidLengths fixInvalidLengthsApply flattenQuantile frameSort frequencyEncode
    frequencyEncodeApply garch gaussianClassifier glove gmm gmmPredict gnmf gridSearch hospitalResidencyMatch
    hyperband img_brightness img_brightness_linearized img_crop img_crop_linearized img_cutout img_cutout_linearized
    img_invert img_invert_linearized img_mirror img_mirror_linearized img_posterize img_posterize_linearized
    img_rotate img_rotate_linearized img_sample_pairing img_sample_pairing_linearized img_shear img_shear_linearized
    img_transform img_transform_linearized img_translate img_translate_linearized impurityMeasures imputeByFD
    imputeByFDApply imputeByKNN incSliceLine independentSubnetTrain intersect km knn knnbf knnGraph lasso
    lenetPredict lenetTrain lmPredictStats matrixProfile mdedup mice miceApply na_locf naiveBayes naiveBayesPredict
    outlier outlierByArima outlierByIQR outlierByIQRApply outlierBySd outlierBySdApply ppca quantizeByCluster
    raGroupby raJoin randomForest randomForestPredict raSelection scaleRobust scaleRobustApply selectByVarThresh ses
    setdiff shapExplainer sherlock sherlockPredict shortestPath slicefinder sliceLine sliceLineDebug
    sliceLineExtract smote split splitBalanced stableMarriage statsNA steplm stratstats symmetricDifference
    tomeklink topk_cleaning tSNE underSampling union univar vectorToCsv wer winsorize winsorizeApply WoE WoEApply
    xdummy1 xdummy2 xgboost xgboostPredict xgboostPredictClassification xgboostPredictRegression
";
