/** The warning for a token given as an argument. */
export const tokenInSight =
  '--token shows the token to everybody who lists processes: set PARLEY_TOKEN or use --token-file'
