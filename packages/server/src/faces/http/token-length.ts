/**
 * Minimum length of a token that a person chose. An attacker who guesses the token can run commands on this machine.
 */
export const shortestToken = 16
