"""A page about one store, as one HTML file: `facts` reads the store, the other modules write the page."""
