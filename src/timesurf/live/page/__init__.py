"""The page of `timesurf live`: plain HTML, CSS and JavaScript."""
