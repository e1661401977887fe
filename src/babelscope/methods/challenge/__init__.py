"""Quality on challenge sets: phenomena and distances against the whole corpus (Choshen and Abend 2019)."""
