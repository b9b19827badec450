"""Programs for the Docker host, its containers and its clients; standard library only."""
