"""In what order and near what: from instructions to a plan. Pure functions; imports no device."""
