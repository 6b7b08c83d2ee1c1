"""What people typed: quarantine, wishes, and private texts in a release."""
