"""The admission webhook: AdmissionReview in, AdmissionReview out, over the decisions of `gpusched.admission`."""
