/** Of a token that somebody chose: one that can be guessed lets others run commands here. */
export const shortestToken = 16
