/** To where the next prompt is written, for whoever asked to write there. */
export function focusPrompt(): void {
  document.querySelector<HTMLTextAreaElement>('textarea[aria-label=Prompt]')?.focus()
}
