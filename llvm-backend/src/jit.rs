//! Object bytes to executable memory: a thin owner around ORC's LLJIT.
//!
//! Every operator is linked into a library (`JITDylib`) of its own, so that all may call their entry points by the same
//! names and object bytes name nothing but vector primitives. ORC has no way to destroy a library, so those of dropped
//! operators are used again; the code itself is freed through the operator's resource tracker. The primitives are bound
//! as absolute symbols. LLJIT maps code either writable or executable, never both.

use fuseline_skeletons::abi::{GenExec, NativeKernel, UnitSize};
use inkwell::llvm_sys::core::LLVMCreateMemoryBufferWithMemoryRangeCopy;
use inkwell::llvm_sys::error::{LLVMDisposeErrorMessage, LLVMErrorRef, LLVMGetErrorMessage};
use inkwell::llvm_sys::orc2::lljit::{
    LLVMOrcCreateLLJIT, LLVMOrcDisposeLLJIT, LLVMOrcLLJITAddObjectFileWithRT, LLVMOrcLLJITGetExecutionSession,
    LLVMOrcLLJITMangleAndIntern, LLVMOrcLLJITRef,
};
use inkwell::llvm_sys::orc2::{
    LLVMJITEvaluatedSymbol, LLVMJITSymbolFlags, LLVMOrcAbsoluteSymbols, LLVMOrcCJITDylibSearchOrderElement,
    LLVMOrcCLookupSetElement, LLVMOrcCSymbolMapPair, LLVMOrcCSymbolMapPairs, LLVMOrcDisposeMaterializationUnit,
    LLVMOrcExecutionSessionCreateBareJITDylib, LLVMOrcExecutionSessionLookup, LLVMOrcExecutionSessionSetErrorReporter,
    LLVMOrcJITDylibCreateResourceTracker, LLVMOrcJITDylibDefine, LLVMOrcJITDylibLookupFlags, LLVMOrcJITDylibRef,
    LLVMOrcLookupKind, LLVMOrcReleaseResourceTracker, LLVMOrcResourceTrackerRef, LLVMOrcResourceTrackerRemove,
    LLVMOrcSymbolLookupFlags, LLVMOrcSymbolStringPoolEntryRef,
};
use std::collections::{HashMap, HashSet};
use std::ffi::{CStr, CString, c_void};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};

/// Exported and callable, as `LLVMJITSymbolGenericFlags` has them.
const EXPORTED_CALLABLE: u8 = 1 | 4;

/// A just-in-time linker with the addresses of the vector primitives.
pub(crate) struct Jit {
    lljit: LLVMOrcLLJITRef,
    primitives: HashMap<String, usize>,
    libraries: Mutex<Libraries>,
    messages: Box<Mutex<Vec<String>>>,
}

#[derive(Default)]
struct Libraries {
    idle: Vec<Library>,
    created: usize,
}

/// A symbol table with the primitives that were bound in it.
struct Library {
    dylib: LLVMOrcJITDylibRef,
    bound: HashSet<String>,
}

// SAFETY: an LLJIT and its libraries may be used from any thread (ORC locks its session); the rest is `Send` anyway.
unsafe impl Send for Jit {}
// SAFETY: as above; the mutable parts of ours are behind mutexes.
unsafe impl Sync for Jit {}

/// Linked code; freed on drop.
pub(crate) struct LinkedCode {
    jit: Arc<Jit>,
    tracker: LLVMOrcResourceTrackerRef,
    library: Option<Library>,
}

// SAFETY: resource trackers may be removed from any thread, and nothing else is done with them after linking.
unsafe impl Send for LinkedCode {}
// SAFETY: there is no access through a shared reference.
unsafe impl Sync for LinkedCode {}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What the mutexes guard is valid after every statement.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The message of an LLVM error, or `None` for success.
fn take_error(error: LLVMErrorRef) -> Option<String> {
    if error.is_null() {
        return None;
    }
    // SAFETY: a non-null error is owned by us; reading its message consumes it, and the message is disposed of once.
    unsafe {
        let message = LLVMGetErrorMessage(error);
        let text = CStr::from_ptr(message).to_string_lossy().into_owned();
        LLVMDisposeErrorMessage(message);
        Some(text)
    }
}

extern "C" fn report_error(messages: *mut c_void, error: LLVMErrorRef) {
    if let Some(message) = take_error(error) {
        // SAFETY: `Jit::new` registers the address of a boxed mutex, which outlives the session.
        let messages = unsafe { &*messages.cast::<Mutex<Vec<String>>>() };
        lock(messages).push(message);
    }
}

extern "C" fn send_address(error: LLVMErrorRef, result: LLVMOrcCSymbolMapPairs, count: usize, sender: *mut c_void) {
    // SAFETY: `Jit::address` passes a boxed sender to exactly one lookup, which calls this once.
    let sender = unsafe { Box::from_raw(sender.cast::<mpsc::Sender<Result<u64, String>>>()) };
    let address = match take_error(error) {
        Some(message) => Err(message),
        None if count == 0 => Err("the lookup found nothing".into()),
        // SAFETY: without an error the result holds `count` pairs.
        None => Ok(unsafe { (*result).Sym.Address }),
    };
    // The receiver is gone only when the thread that asked is.
    let _ = sender.send(address);
}

impl Jit {
    /// A linker that binds these names to these addresses.
    pub(crate) fn new(primitives: HashMap<String, usize>) -> Result<Jit, String> {
        let messages = Box::new(Mutex::new(Vec::new()));
        let mut lljit = std::ptr::null_mut();
        // SAFETY: a null builder asks for the defaults: this process, JITLink, linking on the calling thread.
        if let Some(message) = take_error(unsafe { LLVMOrcCreateLLJIT(&raw mut lljit, std::ptr::null_mut()) }) {
            return Err(message);
        }
        // SAFETY: the LLJIT is live, and `messages` is dropped after it.
        unsafe {
            let context: *const Mutex<Vec<String>> = &raw const *messages;
            let session = LLVMOrcLLJITGetExecutionSession(lljit);
            LLVMOrcExecutionSessionSetErrorReporter(session, report_error, context.cast_mut().cast());
        }
        Ok(Jit { lljit, primitives, libraries: Mutex::default(), messages })
    }

    /// Links an object that calls these primitives; gives the code with the addresses of its entry points.
    pub(crate) fn link(
        self: &Arc<Self>,
        object: &[u8],
        called: &[String],
        entries: &[&str],
    ) -> Result<(LinkedCode, Vec<u64>), String> {
        let mut library = self.take_library()?;
        if let Err(message) = self.bind(&mut library, called) {
            lock(&self.libraries).idle.push(library);
            return Err(message);
        }
        let dylib = library.dylib;
        // SAFETY: the library belongs to this live session.
        let tracker = unsafe { LLVMOrcJITDylibCreateResourceTracker(dylib) };
        let code = LinkedCode { jit: Arc::clone(self), tracker, library: Some(library) };
        // SAFETY: the buffer is a copy, and the linker takes ownership of it whether it succeeds or not.
        let error = unsafe {
            let buffer =
                LLVMCreateMemoryBufferWithMemoryRangeCopy(object.as_ptr().cast(), object.len(), c"operator".as_ptr());
            LLVMOrcLLJITAddObjectFileWithRT(self.lljit, tracker, buffer)
        };
        if let Some(message) = take_error(error) {
            return Err(message);
        }
        let addresses: Result<Vec<u64>, String> = entries.iter().map(|name| self.address(dylib, name)).collect();
        Ok((code, addresses?))
    }

    /// An unused library.
    fn take_library(&self) -> Result<Library, String> {
        let mut libraries = lock(&self.libraries);
        if let Some(library) = libraries.idle.pop() {
            return Ok(library);
        }
        libraries.created += 1;
        let name = c_string(&format!("operator{}", libraries.created))?;
        // SAFETY: the session is live, and the name is unique in it.
        let dylib = unsafe {
            LLVMOrcExecutionSessionCreateBareJITDylib(LLVMOrcLLJITGetExecutionSession(self.lljit), name.as_ptr())
        };
        Ok(Library { dylib, bound: HashSet::new() })
    }

    /// Binds the primitives that the library does not know yet.
    fn bind(&self, library: &mut Library, called: &[String]) -> Result<(), String> {
        let mut pairs = Vec::new();
        let new: Vec<&String> = called.iter().filter(|name| !library.bound.contains(*name)).collect();
        if let Some(name) = new.iter().find(|name| !self.primitives.contains_key(**name)) {
            return Err(format!("there is no vector primitive `{name}`"));
        }
        for name in &new {
            pairs.push(LLVMOrcCSymbolMapPair {
                Name: self.intern(name)?,
                Sym: LLVMJITEvaluatedSymbol {
                    Address: self.primitives[*name] as u64,
                    Flags: LLVMJITSymbolFlags { GenericFlags: EXPORTED_CALLABLE, TargetFlags: 0 },
                },
            });
        }
        if pairs.is_empty() {
            return Ok(());
        }
        // SAFETY: the pairs are initialised and their names are ours to give away; the definition is disposed of here
        // only where the library did not take it.
        unsafe {
            let definition = LLVMOrcAbsoluteSymbols(pairs.as_mut_ptr(), pairs.len());
            if let Some(message) = take_error(LLVMOrcJITDylibDefine(library.dylib, definition)) {
                LLVMOrcDisposeMaterializationUnit(definition);
                return Err(message);
            }
        }
        library.bound.extend(new.into_iter().cloned());
        Ok(())
    }

    fn intern(&self, name: &str) -> Result<LLVMOrcSymbolStringPoolEntryRef, String> {
        let name = c_string(name)?;
        // SAFETY: the LLJIT is live and copies the name.
        Ok(unsafe { LLVMOrcLLJITMangleAndIntern(self.lljit, name.as_ptr()) })
    }

    /// The address of a symbol of the library: this is what makes the linker link.
    fn address(&self, dylib: LLVMOrcJITDylibRef, name: &str) -> Result<u64, String> {
        let mut order = LLVMOrcCJITDylibSearchOrderElement {
            JD: dylib,
            JDLookupFlags: LLVMOrcJITDylibLookupFlags::LLVMOrcJITDylibLookupFlagsMatchAllSymbols,
        };
        let mut symbol = LLVMOrcCLookupSetElement {
            Name: self.intern(name)?,
            LookupFlags: LLVMOrcSymbolLookupFlags::LLVMOrcSymbolLookupFlagsRequiredSymbol,
        };
        let (sender, receiver) = mpsc::channel();
        // SAFETY: both arrays have one element; the lookup takes the name and copies the rest; the handler takes the
        // boxed sender.
        unsafe {
            LLVMOrcExecutionSessionLookup(
                LLVMOrcLLJITGetExecutionSession(self.lljit),
                LLVMOrcLookupKind::LLVMOrcLookupKindStatic,
                &raw mut order,
                1,
                &raw mut symbol,
                1,
                send_address,
                Box::into_raw(Box::new(sender)).cast(),
            );
        }
        let address = receiver.recv().unwrap_or_else(|_| Err("the lookup gave no answer".into()));
        address.map_err(|message| {
            // The session's reports hold the detail, such as the missing symbol.
            let details = std::mem::take(&mut *lock(&self.messages));
            details.into_iter().fold(message, |all, detail| format!("{all}; {detail}"))
        })
    }
}

impl Drop for Jit {
    fn drop(&mut self) {
        // SAFETY: linked code holds the `Jit`, so none is left.
        let _ = take_error(unsafe { LLVMOrcDisposeLLJIT(self.lljit) });
    }
}

impl Drop for LinkedCode {
    fn drop(&mut self) {
        // SAFETY: the owner of this value is the owner of every entry point into its code, so nothing runs there.
        let error = unsafe {
            let error = LLVMOrcResourceTrackerRemove(self.tracker);
            LLVMOrcReleaseResourceTracker(self.tracker);
            error
        };
        // A library that could not be emptied is not used again.
        if take_error(error).is_none() {
            lock(&self.jit.libraries).idle.extend(self.library.take());
        }
    }
}

fn c_string(text: &str) -> Result<CString, String> {
    CString::new(text).map_err(|_| format!("`{text}` contains a zero byte"))
}

/// The address of an entry point as a function.
pub(crate) fn entry_point(address: u64) -> GenExec {
    // SAFETY: the address is that of a function which this crate emitted with exactly this signature; calling it is
    // unsafe in turn.
    unsafe { std::mem::transmute::<usize, GenExec>(address as usize) }
}

/// A kernel that keeps its code linked.
pub(crate) fn kernel<Owner: Send + Sync>(
    dense: Option<GenExec>,
    sparse: Option<GenExec>,
    scratch: fn(&Owner, UnitSize) -> usize,
    owner: Owner,
) -> NativeKernel<Owner> {
    // SAFETY: the entry points were emitted from the schedules of one verified plan, are `nounwind`, and belong to the
    // linked code that `owner` holds.
    unsafe { NativeKernel::new(dense, sparse, scratch, owner) }
}
