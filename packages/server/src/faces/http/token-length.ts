/** Minimum length of a token that a person chose: a guessed token lets others run commands here. */
export const shortestToken = 16
