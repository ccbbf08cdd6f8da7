"""From finished trials to tables, claims, figures, Markdown and one HTML page."""
