/** The prompt field, of a session or of a new one. */
export const promptField = () =>
  document.querySelector<HTMLTextAreaElement>('main textarea[aria-label=Prompt]')

export function focusPrompt(): void {
  promptField()?.focus()
}

/** Focuses a field with the caret at the end of its text. */
export function focusAtEnd(field: HTMLTextAreaElement | null): void {
  field?.focus({ preventScroll: true })
  field?.setSelectionRange(field.value.length, field.value.length)
}
