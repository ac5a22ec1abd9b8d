"""The methods of runs: a file for each row of `options.methods.METHODS`, with a `RunMethod` of the name METHOD."""
