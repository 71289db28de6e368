/** Where there is a keyboard. On a phone its key breaks the line, and taking the focus would only raise the keys. */
export const enterSends = () => !matchMedia('(pointer: coarse)').matches
