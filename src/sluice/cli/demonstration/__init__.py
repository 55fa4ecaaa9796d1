"""`sluice demo`: a tour of Sluice with real jobs, in about a minute."""
