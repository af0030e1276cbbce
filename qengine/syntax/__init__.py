"""From text to an abstract syntax tree: lexer, grammar, tree builder, hints for common mistakes."""
