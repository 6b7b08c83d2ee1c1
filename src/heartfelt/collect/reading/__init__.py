"""What was collected: tables, coverage and snapshots. Every function reads over the connection it is given."""
