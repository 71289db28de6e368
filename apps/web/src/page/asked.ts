let asked = ''

/** Keys on a button of a panel are typed ahead: they are meant for what it opens. */
const forget = ({ type, target }: Event) => {
  if (type === 'keydown' && target instanceof Element && target.closest('aside button')) return
  asked = ''
}
addEventListener('keydown', forget, true)
addEventListener('pointerdown', forget, true)

/** What comes only later may take the focus for having been asked for, until the person does something else. */
export function ask(what: string): void {
  asked = what
}

export const isAsked = (what: string) => asked === what
