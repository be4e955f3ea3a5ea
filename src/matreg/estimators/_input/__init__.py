"""What users pass: arrays, axes with names, classes, covariates, stored samples."""
