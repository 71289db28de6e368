export const onMac = /^Mac/.test(navigator.platform)
const macKeys: Record<string, string> = { Ctrl: '⌘', Shift: '⇧' }

/** A key as it is written on the keyboard in front of the person. */
export function keyName(key: string): string {
  return (onMac && macKeys[key]) || key
}

/** The same within words: "Find (Ctrl+F)". */
export function withKeys(words: string): string {
  return onMac ? words.replace(/\b(Ctrl|Shift)\+/g, (_, key: string) => keyName(key)) : words
}
