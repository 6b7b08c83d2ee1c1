
moment <- function(text) {
  as.POSIXct(sub("Z$", "", text), format = "%Y-%m-%dT%H:%M:%OS", tz = "UTC")
}

# Texts that a spreadsheet would run as a formula have an apostrophe in front.
unescaped <- function(text) {
  ifelse(grepl("^'+[-=+@\t\r\n\uff1d\uff0b\uff0d\uff20]", text), substring(text, 2), text)
}

read_table <- function(folder, table) {
  described <- columns[[table]]
  plain <- ifelse(described$types %in% c("moment", "date"), "character", described$types)
  rows <- utils::read.csv(
    file.path(folder, paste0(table, ".csv")), header = TRUE, colClasses = plain, na.strings = "",
    encoding = "UTF-8", comment.char = "", check.names = FALSE, blank.lines.skip = FALSE, skipNul = TRUE
  )
  names(rows) <- described$names
  for (at in which(described$types == "character")) rows[[at]] <- unescaped(rows[[at]])
  for (at in which(described$types == "moment")) rows[[at]] <- moment(rows[[at]])
  for (at in which(described$types == "date")) rows[[at]] <- as.Date(rows[[at]])
  for (each in factors[[table]]) {
    rows[[each$column]] <- factor(rows[[each$column]], levels = each$levels)
  }
  rows
}

read_release <- function(folder) {
  tables <- names(columns)
  stats::setNames(lapply(tables, function(table) read_table(folder, table)), tables)
}

# The ratings of one question. Where it has categories, `answer` is a factor in the order of the scale and `label` the
# same with the words that raters read; both are ordered if the scale is.
answers <- function(release, question) {
  asked <- release$questions[release$questions$question == question, ]
  if (nrow(asked) == 0) {
    stop("No question is called '", question, "'. Questions: ", paste(release$questions$question, collapse = ", "))
  }
  rows <- release$ratings[release$ratings$question == question, ]
  categories <- release$categories[release$categories$question == question, ]
  if (!is.null(categories) && nrow(categories) > 0) {
    code <- match(rows$value, categories$code)
    ordered <- asked$level == "ordinal"
    rows$answer <- factor(categories$category[code], levels = categories$category, ordered = ordered)
    rows$label <- factor(code, levels = seq_len(nrow(categories)), labels = categories$text, ordered = ordered)
  }
  rows
}

# The samples of a trace as numbers; gaps are NA.
samples <- function(text) {
  lapply(strsplit(paste0(text, ";"), ";", fixed = TRUE), function(each) as.numeric(replace(each, each == "", NA)))
}

folder <- tryCatch(dirname(sys.frame(1)$ofile), error = function(problem) ".")
release <- read_release(folder)
