"""What Sup3r is compared with: HOTS with k-means and a classifier, and an ANN trained by backpropagation."""
