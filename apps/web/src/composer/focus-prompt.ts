/** Where the next prompt is written, in a session or for a new one. */
export const promptField = () =>
  document.querySelector<HTMLTextAreaElement>('main textarea[aria-label=Prompt]')

/** To there, for whoever asked to write. */
export function focusPrompt(): void {
  promptField()?.focus()
}
