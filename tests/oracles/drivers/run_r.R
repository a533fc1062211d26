# Evaluates R scripts: `Rscript run_r.R FOLDER`. The value of each FOLDER/*.R goes to a CSV file of the same name; where
# one fails, its message goes to a file that ends in `.error`.

# The literal of a matrix in DML.
literal <- function(cells, rows, cols) {
  matrix(as.numeric(strsplit(cells, " ")[[1]]), nrow = rows, ncol = cols, byrow = TRUE)
}

# Cells in the shape of another matrix.
like <- function(cells, other) matrix(as.numeric(cells), nrow = nrow(other), ncol = ncol(other))

# Each value as often as its weight says.
repeated <- function(values, weights) rep(as.vector(values), as.vector(weights))

# Counts or sums of weights of pairs of codes.
contingency <- function(rows, cols, weights = rep(1, length(rows))) {
  counts <- matrix(0, max(rows), max(cols))
  for (i in seq_along(rows)) counts[rows[i], cols[i]] <- counts[rows[i], cols[i]] + weights[i]
  counts
}

central_moment <- function(values, order) mean((values - mean(values))^order)

folder <- commandArgs(trailingOnly = TRUE)[1]
for (path in list.files(folder, pattern = "[.]R$", full.names = TRUE)) {
  name <- sub("[.]R$", "", path)
  tryCatch({
    scope <- new.env(parent = globalenv())
    assign("matrix", literal, scope)
    suppressWarnings(value <- eval(parse(path), scope))
    cells <- formatC(as.matrix(value) * 1, digits = 17, format = "g")
    write.table(cells, paste0(name, ".csv"), sep = ",", quote = FALSE, row.names = FALSE, col.names = FALSE)
  }, error = function(failure) writeLines(conditionMessage(failure), paste0(name, ".error")))
}
