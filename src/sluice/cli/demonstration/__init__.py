"""`sluice demo`: a tour of Sluice with real jobs, in about half a minute."""
