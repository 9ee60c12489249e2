"""What nets know: linear probes of their neurons for terms and motifs."""
