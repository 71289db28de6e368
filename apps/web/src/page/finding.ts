import { createStore, useStore } from './store.ts'

/** What the reader looks for in the conversation, in small letters; empty when nothing. */
export const finding = createStore('')

/** Whether the text has what is looked for, so that who folds it away shows it. */
export function useIsWanted(text: string): boolean {
  return useStore(finding, (wanted) => wanted !== '' && text.toLowerCase().includes(wanted))
}
