#include "runtime/metrics/metric_catalogue.hpp"

#include "runtime/base/check.hpp"

namespace ballast::metrics {

namespace {

constexpr auto high = better::high;
constexpr auto low = better::low;
constexpr auto neither = better::neither;
constexpr auto one_number = metric_shape::number;
constexpr auto by_class_list = metric_shape::per_class;

constexpr std::string_view by_class =
    "by class: rows, rows said to be of it, and both";
constexpr std::string_view from_ranks =
    "scores and labels of all rows, sorted; of many rows two histograms of "
    "the scores of each class";
constexpr std::string_view errors =
    "the errors of all rows, sorted; of many rows a histogram of them";

// metric, task, good, shape, two classes only, meaning, merged, source
constexpr metric_entry catalogue[] = {
    {metric::accuracy, task::classes, high, one_number, false,
     "Part of the rows whose likeliest class is the label", by_class,
     "scikit-learn accuracy_score"},
    {metric::balanced_accuracy, task::classes, high, one_number, false,
     "Mean recall of the classes that have rows", by_class,
     "scikit-learn balanced_accuracy_score"},
    {metric::majority_accuracy, task::classes, neither, one_number, false,
     "The accuracy of always saying the class that most test rows have: what "
     "a model without any knowledge reaches",
     by_class, "scikit-learn DummyClassifier(strategy='most_frequent')"},
    {metric::precision, task::classes, high, one_number, true,
     "Of the rows said to be of class 1, the part that is", by_class,
     "scikit-learn precision_score"},
    {metric::recall, task::classes, high, one_number, true,
     "Of the rows of class 1, the part that is found", by_class,
     "scikit-learn recall_score"},
    {metric::f1, task::classes, high, one_number, true,
     "Harmonic mean of precision and recall of class 1", by_class,
     "scikit-learn f1_score"},
    {metric::precision_macro, task::classes, high, one_number, false,
     "Mean precision of the classes, each counting the same", by_class,
     "scikit-learn precision_score(average='macro')"},
    {metric::recall_macro, task::classes, high, one_number, false,
     "Mean recall of the classes, each counting the same", by_class,
     "scikit-learn recall_score(average='macro')"},
    {metric::f1_macro, task::classes, high, one_number, false,
     "Mean F1 of the classes, each counting the same", by_class,
     "scikit-learn f1_score(average='macro')"},
    {metric::precision_weighted, task::classes, high, one_number, false,
     "Mean precision of the classes, each counting as many rows as it has",
     by_class, "scikit-learn precision_score(average='weighted')"},
    {metric::recall_weighted, task::classes, high, one_number, false,
     "Mean recall of the classes, each counting as many rows as it has; the "
     "accuracy",
     by_class, "scikit-learn recall_score(average='weighted')"},
    {metric::f1_weighted, task::classes, high, one_number, false,
     "Mean F1 of the classes, each counting as many rows as it has", by_class,
     "scikit-learn f1_score(average='weighted')"},
    {metric::precision_per_class, task::classes, high, by_class_list, false,
     "Of the rows said to be of a class, the part that is", by_class,
     "scikit-learn precision_score(average=None)"},
    {metric::recall_per_class, task::classes, high, by_class_list, false,
     "Of the rows of a class, the part that is found", by_class,
     "scikit-learn recall_score(average=None)"},
    {metric::f1_per_class, task::classes, high, by_class_list, false,
     "Harmonic mean of precision and recall of a class", by_class,
     "scikit-learn f1_score(average=None)"},
    {metric::rows_per_class, task::classes, neither, by_class_list, false,
     "Test rows of a class", by_class, "scikit-learn classification_report"},
    {metric::confusion_matrix, task::classes, neither, metric_shape::matrix,
     false, "Rows by label (row of the matrix) and likeliest class (column)",
     "the matrix", "scikit-learn confusion_matrix"},
    {metric::top_2_accuracy, task::classes, high, one_number, false,
     "Part of the rows whose label is among the 2 likeliest classes; of "
     "equally likely ones those with lower numbers come first",
     "rows whose label is among them", "scikit-learn top_k_accuracy_score"},
    {metric::top_3_accuracy, task::classes, high, one_number, false,
     "Likewise, among the 3 likeliest", "rows whose label is among them",
     "scikit-learn top_k_accuracy_score"},
    {metric::top_5_accuracy, task::classes, high, one_number, false,
     "Likewise, among the 5 likeliest", "rows whose label is among them",
     "scikit-learn top_k_accuracy_score"},
    {metric::top_10_accuracy, task::classes, high, one_number, false,
     "Likewise, among the 10 likeliest", "rows whose label is among them",
     "scikit-learn top_k_accuracy_score"},
    {metric::log_loss, task::classes, low, one_number, false,
     "Mean of -log of the probability given to the label: the loss without "
     "class weights. No probability is clipped",
     "its sum", "scikit-learn log_loss"},
    {metric::brier, task::classes, low, one_number, false,
     "Mean squared distance between the probabilities and 1 for the label, 0 "
     "for the others: of two classes that of class 1, of more the sum over "
     "the classes",
     "its sum",
     "scikit-learn brier_score_loss; Brier, Monthly Weather Review "
     "78 (1950)"},
    {metric::ece, task::classes, low, one_number, false,
     "Expected calibration error: how far the probability of the likeliest "
     "class is from the part of rows that are of it, over 15 bins of equal "
     "width, each counting as many rows as it has",
     "by bin: rows, hits, sum of probabilities",
     "Guo, Pleiss, Sun, Weinberger, ICML 2017, arXiv 1706.04599; torchmetrics "
     "MulticlassCalibrationError(n_bins=15, norm='l1')"},
    {metric::roc_auc, task::classes, high, one_number, false,
     "The probability that a row of a class has a higher score for it than a "
     "row of another, ties counting half: of class 1 where there are two, "
     "else the mean over all classes, each against the rest",
     from_ranks, "scikit-learn roc_auc_score(multi_class='ovr')"},
    {metric::roc_auc_per_class, task::classes, high, by_class_list, false,
     "Likewise, of each class against the rest", from_ranks,
     "scikit-learn roc_auc_score"},
    {metric::average_precision, task::classes, high, one_number, false,
     "Mean precision over the rows of a class, each taken at the score of "
     "that row: of class 1 where there are two, else the mean over all "
     "classes, each against the rest",
     from_ranks, "scikit-learn average_precision_score(average='macro')"},
    {metric::average_precision_per_class, task::classes, high, by_class_list,
     false, "Likewise, of each class against the rest", from_ranks,
     "scikit-learn average_precision_score"},
    {metric::mae, task::number, low, one_number, false, "Mean absolute error",
     "its sum", "scikit-learn mean_absolute_error"},
    {metric::rmse, task::number, low, one_number, false,
     "Square root of the mean squared error", "the sum of squares",
     "scikit-learn root_mean_squared_error"},
    {metric::r2, task::number, high, one_number, false,
     "1 - squared error / that of always saying the mean of the test rows",
     "sum of squares; rows, mean and squared deviations of the targets "
     "(Chan, Golub, LeVeque, COMPSTAT 1982)",
     "scikit-learn r2_score"},
    {metric::mean_rmse, task::number, neither, one_number, false,
     "The rmse of always saying the mean of the test rows: what a model "
     "without any knowledge reaches",
     "rows, mean and squared deviations of the targets",
     "scikit-learn DummyRegressor"},
    {metric::abs_error_p50, task::number, low, one_number, false,
     "Median of the absolute error", errors,
     "scikit-learn median_absolute_error"},
    {metric::abs_error_p90, task::number, low, one_number, false,
     "The absolute error that 90 % of the rows do not exceed; between two "
     "rows by a straight line",
     errors, "NumPy quantile"},
    {metric::abs_error_p99, task::number, low, one_number, false,
     "Likewise, 99 % of the rows", errors, "NumPy quantile"},
    {metric::token_accuracy, task::tokens, high, one_number, false,
     "Part of the tokens after the first of a row that are the likeliest",
     "tokens and hits", "torchmetrics MulticlassAccuracy(average='micro')"},
    {metric::perplexity, task::tokens, low, one_number, false,
     "exp of the mean cross entropy of those tokens", "its sum",
     "torchmetrics Perplexity"},
};

} // namespace

std::span<const metric_entry> metric_catalogue() {
  return catalogue;
}

const metric_entry& about(metric one) {
  const metric_entry& out = catalogue[size_t(one)];
  BALLAST_CHECK(out.what == one, "a metric in another place of the catalogue");
  return out;
}

std::vector<std::string> metric_names() {
  std::vector<std::string> out;
  for (const metric_entry& one : catalogue)
    out.push_back(to_string(one.what));
  return out;
}

std::vector<std::string> metrics_that_fit(task what, uint32_t classes) {
  std::vector<std::string> out;
  for (const metric_entry& one : catalogue)
    if (one.fits == what && (!one.two_classes || classes == 0 || classes == 2))
      out.push_back(to_string(one.what));
  return out;
}

std::vector<metric> usual_metrics(task what) {
  switch (what) {
  case task::classes:
    return {metric::accuracy, metric::balanced_accuracy, metric::f1_macro,
            metric::majority_accuracy};
  case task::number:
    return {metric::mae, metric::rmse, metric::r2, metric::mean_rmse};
  case task::tokens:
    return {metric::token_accuracy, metric::perplexity};
  }
  return {};
}

} // namespace ballast::metrics
