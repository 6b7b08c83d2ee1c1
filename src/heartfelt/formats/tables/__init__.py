"""Opening tables: text, spreadsheets, JSON, SPSS and Parquet, with the columns they have."""
