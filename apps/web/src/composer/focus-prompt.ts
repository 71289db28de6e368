/** Where the next prompt is written, in a session or for a new one. */
export const promptField = () =>
  document.querySelector<HTMLTextAreaElement>('main textarea[aria-label=Prompt]')

/** To there, for whoever asked to write. */
export function focusPrompt(): void {
  promptField()?.focus()
}

/** Where there is a keyboard. On a phone its key breaks the line, and taking the focus would only raise the keys. */
export const enterSends = () => !matchMedia('(pointer: coarse)').matches

/** One goes on behind what was kept. */
export function focusAtEnd(field: HTMLTextAreaElement | null): void {
  field?.focus({ preventScroll: true })
  field?.setSelectionRange(field.value.length, field.value.length)
}
