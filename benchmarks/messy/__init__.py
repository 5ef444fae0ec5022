"""Tables in the formats of real files, against the same values written plainly."""
