"""What users pass: arrays, axes with names, classes, covariates, stored and streamed samples."""
