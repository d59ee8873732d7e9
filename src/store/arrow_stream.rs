//! Streams of rows in Arrow's IPC format, by which programs pass frames to each other through pipes.

use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};

use polars::prelude::*;
use polars_arrow::io::ipc::read::{StreamReader, StreamState, read_stream_metadata};
use polars_arrow::io::ipc::write::{StreamWriter, WriteOptions};
use polars_arrow::record_batch::RecordBatchT;

use super::contained::contained;

/// Reads the frames of a stream.
///
/// # Errors
/// When the stream has no schema. The iterator returns errors of batches; a stream without its end is one.
pub fn read_frames(stream: impl Read) -> PolarsResult<impl Iterator<Item = PolarsResult<DataFrame>>> {
    let mut stream = Forward { stream: BufReader::with_capacity(1 << 20, stream), position: 0 };
    let metadata = contained(|| read_stream_metadata(&mut stream))?;
    let names: Vec<PlSmallStr> = metadata.schema.iter_names().cloned().collect();
    let mut states = StreamReader::new(stream, metadata, None);
    let mut next = move || match states.next().transpose()? {
        None => Ok(None),
        Some(StreamState::Some(batch)) => frame_of(&names, batch).map(Some),
        // Bytes that end without the mark of the end: the writer failed.
        Some(StreamState::Waiting) => Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
    };
    Ok(std::iter::from_fn(move || contained(&mut next).transpose()))
}

fn frame_of(names: &[PlSmallStr], batch: RecordBatchT<Box<dyn polars_arrow::array::Array>>) -> PolarsResult<DataFrame> {
    let rows = batch.len();
    let columns = names.iter().cloned().zip(batch.into_arrays());
    let columns = columns.map(|column| Ok(Series::try_from(column)?.into()));
    DataFrame::new(rows, columns.collect::<PolarsResult<_>>()?)
}

/// Writes a frame as a stream.
///
/// # Errors
/// When it cannot be written.
pub fn write(frame: &DataFrame, out: impl Write) -> PolarsResult<()> {
    let mut writer = FrameWriter::new(out, frame.schema())?;
    writer.write(frame)?;
    writer.finish()
}

/// Writes frames with the same columns as a stream.
pub struct FrameWriter<W: Write> {
    stream: StreamWriter<W>,
}

impl<W: Write> FrameWriter<W> {
    /// A stream of frames with this schema.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn new(out: W, schema: &Schema) -> PolarsResult<Self> {
        let mut stream = StreamWriter::new(out, WriteOptions::default());
        stream.start(&schema.to_arrow(CompatLevel::oldest()), None)?;
        Ok(Self { stream })
    }

    /// Writes the rows of a frame.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn write(&mut self, frame: &DataFrame) -> PolarsResult<()> {
        for batch in frame.iter_chunks(CompatLevel::oldest(), false) {
            self.stream.write(&batch, None)?;
        }
        Ok(())
    }

    /// Writes the mark of the end. Readers refuse a stream without it.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish(mut self) -> PolarsResult<()> {
        self.stream.finish()?;
        Ok(self.stream.into_inner().flush()?)
    }
}

/// A pipe as polars reads it: its position is known, and it can be moved forward.
struct Forward<R> {
    stream: R,
    position: u64,
}

impl<R: Read> Read for Forward<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.stream.read(buffer)?;
        self.position += read as u64;
        Ok(read)
    }
}

impl<R: Read> Seek for Forward<R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let SeekFrom::Current(distance) = to else { return Err(io::ErrorKind::Unsupported.into()) };
        let distance = u64::try_from(distance).map_err(io::Error::other)?;
        io::copy(&mut self.by_ref().take(distance), &mut io::sink())?;
        Ok(self.position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(frames: &[DataFrame]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut writer = FrameWriter::new(&mut bytes, frames[0].schema()).unwrap();
        for frame in frames {
            writer.write(frame).unwrap();
        }
        writer.finish().unwrap();
        bytes
    }

    fn frame(names: &[Option<&str>]) -> DataFrame {
        let numbers: Vec<i64> = (0..).take(names.len()).collect();
        let contents: Vec<Option<&[u8]>> = names.iter().map(|name| name.map(str::as_bytes)).collect();
        let columns = [
            Series::new("name".into(), names),
            Series::new("number".into(), numbers),
            Series::new("c".into(), contents),
        ];
        DataFrame::new(names.len(), columns.map(Column::from).to_vec()).unwrap()
    }

    #[test]
    fn frames_are_read_as_they_were_written() {
        let frames = [frame(&[Some("a"), None]), frame(&[Some("a text that is longer than a view")])];
        let bytes = written(&frames);
        let read: Vec<_> = read_frames(&bytes[..]).unwrap().collect::<PolarsResult<_>>().unwrap();
        assert!(read.iter().zip(&frames).all(|(read, frame)| read.equals_missing(frame)));
        assert_eq!(read.len(), 2);
    }

    /// A program that failed writes a stream that ends early.
    #[test]
    fn a_stream_without_its_end_is_an_error() {
        let bytes = written(&[frame(&[Some("a")])]);
        for end in 0..bytes.len() - 8 {
            let read = read_frames(&bytes[..end]).and_then(Iterator::collect::<PolarsResult<Vec<_>>>);
            assert!(read.is_err(), "{end}");
        }
    }
}
