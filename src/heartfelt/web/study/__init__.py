"""The researcher's dashboard at ``/study``: login, one page, and the events that keep it live."""
