/** True with a hardware keyboard. On a touch device Enter breaks the line, and focusing a field opens the keyboard. */
export const enterSends = () => !matchMedia('(pointer: coarse)').matches
