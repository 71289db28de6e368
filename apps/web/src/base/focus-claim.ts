let claim = ''

/** A key on a button in a panel is typed ahead for what the button opens, so it does not end the claim to the focus. */
const forget = ({ type, target }: Event) => {
  if (type === 'keydown' && target instanceof Element && target.closest('aside button')) return
  claim = ''
}
addEventListener('keydown', forget, true)
addEventListener('pointerdown', forget, true)

/** Lets a part that loads later take the focus, until the person presses a key or clicks somewhere else. */
export function claimFocus(part: string): void {
  claim = part
}

export const hasFocusClaim = (part: string) => claim === part
