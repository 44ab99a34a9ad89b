"""Write statements, the texts that describe a bug to models."""
