"""The language reference in docs/pages/language, made of the grammar, the catalogue and docs/language."""
