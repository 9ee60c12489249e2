"""What was built to study the engine: tunes, nets, point values, people, clusters, the article."""
