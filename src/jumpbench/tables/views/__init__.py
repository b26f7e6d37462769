"""What a person sees of a table: terminal, Markdown, LaTeX, page, figures."""
