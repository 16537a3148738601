"""Being the host: finding a provider, starting its worker, answering its requests, calling its methods."""
