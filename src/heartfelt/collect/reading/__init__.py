"""The read side: tables of what was collected, read at one moment without holding up the writer."""
