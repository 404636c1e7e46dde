"""Ways from ragkit to other systems; each module needs the package it is named after, ragkit needs none."""
