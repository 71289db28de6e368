/** Where the next prompt is written, in a session or for a new one. */
export const promptField = () =>
  document.querySelector<HTMLTextAreaElement>('main textarea[aria-label=Prompt]')

/** To there, for whoever asked to write. */
export function focusPrompt(): void {
  promptField()?.focus()
}

/** One goes on behind what was kept. */
export function focusAtEnd(field: HTMLTextAreaElement | null): void {
  field?.focus({ preventScroll: true })
  field?.setSelectionRange(field.value.length, field.value.length)
}
