"""Tables of rows by id that parameter servers hold (`epl.Table`)."""
