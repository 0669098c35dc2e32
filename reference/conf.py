# Sphinx's settings for the site. pages.py puts the version in.
project = "libredlock"
version = release = "@VERSION@"
project_copyright = "the libredlock authors"
extensions = ["myst_parser"]
root_doc = "index"
highlight_language = "none"
myst_heading_anchors = 3
toc_object_entries = False  # the headings are enough
html_theme = "furo"
html_title = "libredlock @VERSION@"
# Said here for systems that ask for dark: the theme of Debian 12 has its own dark colours for its button only.
html_theme_options = {
    "dark_css_variables": {
        "color-foreground-primary": "#d8dade",
        "color-foreground-secondary": "#a3a8b0",
        "color-foreground-muted": "#8a9099",
        "color-foreground-border": "#5f646b",
        "color-background-primary": "#15171a",
        "color-background-secondary": "#1c1f23",
        "color-background-hover": "#24282d",
        "color-background-hover--transparent": "#24282d00",
        "color-background-border": "#33383e",
        "color-background-item": "#41464d",
        "color-brand-primary": "#6cb0ff",
        "color-brand-content": "#6cb0ff",
        "color-api-name": "#ff9a8f",
        "color-api-pre-name": "#ff9a8f",
        "color-highlight-on-target": "#3a3410",
        "color-highlighted-background": "#0d4a80",
    },
}
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
